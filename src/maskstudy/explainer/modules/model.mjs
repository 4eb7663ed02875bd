// The transformer of the study, as maskstudy/model.py builds it, in plain loops. Numbers are doubles; weights stand in
// the page in single or half precision.

const EPSILON = 1e-5; // of the norm, PyTorch's default
const ACTIVATIONS = {
  squared_relu: (value) => (value > 0 ? value * value : 0),
  relu: (value) => (value > 0 ? value : 0),
};

/** What stands in M where a query may not attend: −∞, or a number that is added to the score or written over it. */
export const EXACT = { value: -Infinity, how: "add" };

/**
 * One row of attention: scores and what may be seen -> scores with M, and weights.
 *
 * A row that may see nothing has only −∞, and softmax would be 0/0: its weights are 0. Sum and weights are rounded to
 * single precision, as they are on most machines that train: there a large enough number swallows the score.
 */
export function attend(scores, allowed, fill = EXACT) {
  const masked = scores.map((score, key) => {
    if (allowed[key]) return score;
    return fill.how === "write" ? fill.value : Math.fround(Math.fround(score) + fill.value);
  });
  const top = Math.max(...masked);
  if (top === -Infinity) return { masked, weights: masked.map(() => 0) };
  const raised = masked.map((value) => Math.exp(value - top));
  const sum = raised.reduce((total, value) => total + value, 0);
  return { masked, weights: raised.map((value) => Math.fround(value / sum)) };
}

/** Weights by name, and what every model of the page does with them. */
export class Network {
  /**
   * @param description what maskstudy.explainer.models writes: shape, block, names and shapes of the tensors.
   * @param row all weights, one tensor after the other.
   */
  constructor(description, row) {
    Object.assign(this, description.shape);
    this.headWidth = this.width / this.heads;
    this.activation = ACTIVATIONS[description.activation];
    this.turns = [];
    this.weights = {};
    let start = 0;
    for (const [name, shape] of description.tensors) {
      const size = shape.reduce((product, side) => product * side, 1);
      this.weights[name] = Float64Array.from(row.subarray(start, start + size));
      start += size;
    }
  }

  /** The vectors of tokens that begin at place `start`. */
  embedded(ids, start) {
    const { width, weights } = this;
    return ids.map((id, place) => {
      const vector = weights["embedding.weight"].slice(id * width, (id + 1) * width);
      if (this.positions !== "learned") return vector;
      return add(vector, weights.position.subarray((start + place) * width, (start + place + 1) * width));
    });
  }

  /** A cache that holds nothing yet: keys and values of each layer, one entry a token. */
  emptyCache(layers = this.layers) {
    return Array.from({ length: layers }, () => ({ keys: [], values: [] }));
  }

  /**
   * Self-attention of the block `name`: new tokens look at those in the cache, which they join.
   *
   * @param wanted the range of new tokens that ask; the others are only looked at.
   */
  attention(stream, name, mask, cache, start, fill, wanted = [0, stream.length]) {
    const projected = stream.map((held) =>
      this.product(`${name}attention.project_in`, this.norm(`${name}attention_norm`, held)),
    );
    projected.forEach((row, place) => {
      cache.keys.push(this.ofHeads(row, 1, start + place));
      cache.values.push(this.ofHeads(row, 2));
    });
    const queries = projected.slice(...wanted).map((row, place) => this.ofHeads(row, 0, start + wanted[0] + place));
    return this.attended(queries, cache, mask.slice(...wanted), fill);
  }

  /** A part of a projected row as one vector a head, turned by its place where one is given. */
  ofHeads(row, part, place = null) {
    return Array.from({ length: this.heads }, (_, head) => {
      const begin = (part * this.heads + head) * this.headWidth;
      const vector = row.subarray(begin, begin + this.headWidth);
      return place === null ? vector : this.turned(vector, place);
    });
  }

  /** Queries of all heads, and the `keys` and `values` that they meet -> each head with its numbers. */
  attended(queriesOfHeads, seen, mask, fill) {
    return Array.from({ length: this.heads }, (_, head) => {
      const queries = queriesOfHeads.map((ofHeads) => ofHeads[head]);
      const keys = seen.keys.map((ofHeads) => ofHeads[head]);
      const values = seen.values.map((ofHeads) => ofHeads[head]);
      const scores = queries.map((query) => keys.map((key) => dot(query, key) / Math.sqrt(this.headWidth)));
      const rows = scores.map((row, place) => attend(row, mask[place], fill));
      const masked = rows.map((row) => row.masked);
      const weights = rows.map((row) => row.weights);
      const mixed = weights.map((row) => weightedSum(row, values));
      return { queries, keys, values, scores, masked, weights, mixed };
    });
  }

  /** The stream and what the heads add to it, through the matrix `name`. */
  mixed(stream, heads, name) {
    return stream.map((held, place) => {
      const row = new Float64Array(this.width);
      heads.forEach((head, number) => row.set(head.mixed[place], number * this.headWidth));
      return add(held, this.product(name, row));
    });
  }

  /** The stream and what the position-wise network of the block `name` adds to it. */
  worked(stream, name) {
    return stream.map((held) => {
      const inner = this.product(`${name}expand`, this.norm(`${name}network_norm`, held)).map(this.activation);
      return add(held, this.product(`${name}contract`, inner));
    });
  }

  answered(stream) {
    return stream.map((held) => this.product("answer", this.norm("final_norm", held)));
  }

  /** Rotary positions: each pair of neighbouring entries is turned by its position's angle. */
  turned(vector, position) {
    if (this.positions !== "rotary") return vector;
    this.turns[position] ??= Float64Array.from(vector, (_, place) => {
      const angle = position * 10000 ** (-(place - (place % 2)) / vector.length);
      return place % 2 ? Math.sin(angle) : Math.cos(angle);
    });
    const turn = this.turns[position];
    const result = new Float64Array(vector.length);
    for (let pair = 0; pair < vector.length; pair += 2) {
      const [cosine, sine] = [turn[pair], turn[pair + 1]];
      result[pair] = vector[pair] * cosine - vector[pair + 1] * sine;
      result[pair + 1] = vector[pair] * sine + vector[pair + 1] * cosine;
    }
    return result;
  }

  norm(name, vector) {
    const weight = this.weights[`${name}.weight`];
    const count = vector.length;
    let [mean, variance] = [0, 0];
    for (let place = 0; place < count; place += 1) mean += vector[place] / count;
    for (let place = 0; place < count; place += 1) variance += (vector[place] - mean) ** 2 / count;
    const scale = 1 / Math.sqrt(variance + EPSILON);
    const result = new Float64Array(count);
    for (let place = 0; place < count; place += 1) result[place] = (vector[place] - mean) * scale * weight[place];
    return result;
  }

  /** A matrix of `[outputs, inputs]` times a vector. */
  product(name, vector) {
    const matrix = this.weights[`${name}.weight`];
    const inputs = vector.length;
    const result = new Float64Array(matrix.length / inputs);
    for (let output = 0, place = 0; output < result.length; output += 1) {
      let sum = 0;
      for (let input = 0; input < inputs; input += 1, place += 1) sum += matrix[place] * vector[input];
      result[output] = sum;
    }
    return result;
  }
}

export class Transformer extends Network {
  /**
   * Read tokens that follow those in the cache, and put them into it. With an empty cache this is the parallel pass.
   *
   * @param ids the new tokens.
   * @param masks a layer each: may new query `i` attend to key `j` of all keys, old and new?
   * @param cache of `emptyCache`.
   * @param fill what stands in for −∞.
   * @param wanted the range of new tokens whose answers are wanted; the last layer has no rows of the others.
   * @returns `layers`, each a list of heads with `queries`, `keys`, `values`, `scores`, `masked`, `weights` and `mixed`;
   *   `logits` at the new positions that are wanted.
   */
  read(ids, masks, cache = this.emptyCache(), fill = EXACT, wanted = [0, ids.length]) {
    const start = cache[0].keys.length;
    let stream = this.embedded(ids, start);
    const layers = masks.map((mask, layer) => {
      const name = `blocks.${layer}.`;
      const asking = layer === masks.length - 1 ? wanted : [0, ids.length];
      const heads = this.attention(stream, name, mask, cache[layer], start, fill, asking);
      stream = this.worked(this.mixed(stream.slice(...asking), heads, `${name}attention.project_out`), name);
      return heads;
    });
    return { layers, logits: this.answered(stream) };
  }
}

/** Weights as they stand in the page -> numbers. */
export function decoded(text, precision) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  if (precision === "float32") return new Float32Array(bytes.buffer);
  if (precision === "float16") return Float32Array.from(new Uint16Array(bytes.buffer), half);
  // float12: the first twelve bits of half precision, two weights in three bytes.
  return Float32Array.from({ length: (2 * bytes.length) / 3 }, (_, place) => {
    const at = 3 * (place >> 1);
    return place % 2
      ? half(((bytes[at + 1] & 15) << 12) | (bytes[at + 2] << 4))
      : half((bytes[at] << 8) | (bytes[at + 1] & 240));
  });
}

/** Logits -> probabilities. */
export function softmax(logits) {
  const top = Math.max(...logits);
  const raised = Array.from(logits, (value) => Math.exp(value - top));
  const sum = raised.reduce((total, value) => total + value, 0);
  return raised.map((value) => value / sum);
}

/** −log p of one answer, in nats. */
export function nats(logits, answer) {
  const top = Math.max(...logits);
  return top + Math.log(logits.reduce((sum, value) => sum + Math.exp(value - top), 0)) - logits[answer];
}

/** The largest difference between two rows of numbers. */
export function gap(one, other) {
  return Math.max(...one.map((value, place) => Math.abs(value - other[place])));
}

export function largest(values) {
  return values.reduce((best, value, place) => (value > values[best] ? place : best), 0);
}

export function weightedSum(weights, vectors) {
  const result = new Float64Array(vectors[0].length);
  weights.forEach((weight, place) => {
    if (weight !== 0)
      for (let entry = 0; entry < result.length; entry += 1) result[entry] += weight * vectors[place][entry];
  });
  return result;
}

export function dot(one, other) {
  let sum = 0;
  for (let place = 0; place < one.length; place += 1) sum += one[place] * other[place];
  return sum;
}

function add(one, other) {
  return one.map((value, place) => value + other[place]);
}

/** The number that 16 bits stand for in IEEE 754 half precision. */
function half(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  if (exponent === 0) return sign * 2 ** -14 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction);
}
