// The data of the page: packed blocks, unpacked when somebody looks at them.

const KEPT = 24;
const unpacked = new Map();

async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// A block with the few that were looked at last kept at hand.
function blockOf(id) {
  const found = unpacked.get(id) ?? unpack(id);
  unpacked.delete(id);
  unpacked.set(id, found);
  if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
  return found;
}

// Access to a table that was packed by columns.
class Columns {
  constructor(packed) {
    this.length = packed.rows;
    this.perBlock = packed.per_block;
    this.packed = packed;
  }
  at(name, row) {
    const column = this.packed.columns[name];
    return Array.isArray(column) ? column[row] : column.of[column.at[row]];
  }
  values(name) {
    const column = this.packed.columns[name];
    return [...new Set(Array.isArray(column) ? column : column.of)].filter((one) => one !== "" && one !== null);
  }
  find(name, value) {
    const column = this.packed.columns[name];
    return Array.isArray(column) ? column.indexOf(value) : column.at.indexOf(column.of.indexOf(value));
  }
}

const remembered = {
  get(key, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(`tracemill ${key}`)) ?? otherwise;
    } catch {
      return otherwise; // a browser may refuse to remember anything of a local file
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`tracemill ${key}`, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  },
};
