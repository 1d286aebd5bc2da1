"""Evolution of worlds: archetypes (worlds with holes) times vocabularies (the language of a domain)."""
