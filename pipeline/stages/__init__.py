"""The stages of a run: each unit of work reads finished shards and writes one. Schedulers only decide when."""
