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

export class Transformer {
  /**
   * @param description what maskstudy.explainer.models writes: shape, block, names and shapes of the tensors.
   * @param row all weights, one tensor after the other.
   */
  constructor(description, row) {
    Object.assign(this, description.shape);
    this.headWidth = this.width / this.heads;
    this.activation = ACTIVATIONS[description.activation];
    this.weights = {};
    let start = 0;
    for (const [name, shape] of description.tensors) {
      const size = shape.reduce((product, side) => product * side, 1);
      this.weights[name] = row.subarray(start, start + size);
      start += size;
    }
  }

  /** A cache that holds nothing yet: keys and values of each layer, one entry a token. */
  emptyCache() {
    return Array.from({ length: this.layers }, () => ({ keys: [], values: [] }));
  }

  /**
   * Read tokens that follow those in the cache, and put them into it. With an empty cache this is the parallel pass.
   *
   * @param ids the new tokens.
   * @param masks a layer each: may new query `i` attend to key `j` of all keys, old and new?
   * @param cache of `emptyCache`.
   * @param fill what stands in for −∞.
   * @returns `streams` before the first layer and after each; `layers`, each a list of heads with `queries`, `keys`,
   *   `values`, `scores`, `masked`, `weights` and `mixed`; `logits` at the new positions.
   */
  read(ids, masks, cache = this.emptyCache(), fill = EXACT) {
    const start = cache[0].keys.length;
    let stream = ids.map((id, place) => this.embedded(id, start + place));
    const streams = [stream];
    const layers = [];
    for (let layer = 0; layer < this.layers; layer += 1) {
      const name = `blocks.${layer}.`;
      const heads = this.attention(stream, name, masks[layer], cache[layer], start, fill);
      layers.push(heads);
      stream = stream.map((held, place) => {
        const mixed = new Float64Array(this.width);
        heads.forEach((head, number) => mixed.set(head.mixed[place], number * this.headWidth));
        const seen = add(held, this.product(`${name}attention.project_out`, mixed));
        const inner = this.product(`${name}expand`, this.norm(`${name}network_norm`, seen)).map(this.activation);
        return add(seen, this.product(`${name}contract`, inner));
      });
      streams.push(stream);
    }
    const logits = stream.map((held) => this.product("answer", this.norm("final_norm", held)));
    return { streams, layers, logits };
  }

  attention(stream, name, mask, cache, start, fill) {
    const projected = stream.map((held) =>
      this.product(`${name}attention.project_in`, this.norm(`${name}attention_norm`, held)),
    );
    const part = (row, kind, head) => {
      const begin = (kind * this.heads + head) * this.headWidth;
      return row.subarray(begin, begin + this.headWidth);
    };
    projected.forEach((row, place) => {
      const everyHead = (kind) => Array.from({ length: this.heads }, (_, head) => part(row, kind, head));
      cache.keys.push(everyHead(1).map((key) => this.turned(key, start + place)));
      cache.values.push(everyHead(2));
    });
    return Array.from({ length: this.heads }, (_, head) => {
      const queries = projected.map((row, place) => this.turned(part(row, 0, head), start + place));
      const keys = cache.keys.map((heads) => heads[head]);
      const values = cache.values.map((heads) => heads[head]);
      const scores = queries.map((query) => keys.map((key) => dot(query, key) / Math.sqrt(this.headWidth)));
      const rows = scores.map((row, place) => attend(row, mask[place], fill));
      const mixed = rows.map(({ weights }) => weightedSum(weights, values));
      return {
        queries,
        keys,
        values,
        scores,
        masked: rows.map((r) => r.masked),
        weights: rows.map((r) => r.weights),
        mixed,
      };
    });
  }

  embedded(id, position) {
    const { width, weights } = this;
    const vector = Float64Array.from(weights["embedding.weight"].subarray(id * width, (id + 1) * width));
    if (this.positions !== "learned") return vector;
    return add(vector, weights.position.subarray(position * width, (position + 1) * width));
  }

  /** Rotary positions: each pair of neighbouring entries is turned by its position's angle. */
  turned(vector, position) {
    if (this.positions !== "rotary") return vector;
    const result = new Float64Array(vector.length);
    for (let pair = 0; pair < vector.length; pair += 2) {
      const angle = position * 10000 ** (-pair / vector.length);
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
      result[pair] = vector[pair] * cosine - vector[pair + 1] * sine;
      result[pair + 1] = vector[pair] * sine + vector[pair + 1] * cosine;
    }
    return result;
  }

  norm(name, vector) {
    const weight = this.weights[`${name}.weight`];
    const mean = vector.reduce((sum, value) => sum + value, 0) / vector.length;
    const variance = vector.reduce((sum, value) => sum + (value - mean) ** 2, 0) / vector.length;
    const scale = 1 / Math.sqrt(variance + EPSILON);
    return vector.map((value, place) => (value - mean) * scale * weight[place]);
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

/** Weights as they stand in the page -> numbers. */
export function decoded(text, precision) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  if (precision === "float32") return new Float32Array(bytes.buffer);
  return Float32Array.from(new Uint16Array(bytes.buffer), half);
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
