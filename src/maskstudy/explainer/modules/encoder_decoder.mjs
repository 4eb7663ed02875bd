// The encoder–decoder of the study, as maskstudy/encoder_decoder.py builds it: three kinds of attention where the other
// model has one.

import { causal, full, matrix } from "./masks.mjs";
import { EXACT, Network, largest } from "./model.mjs";

export class EncoderDecoder extends Network {
  constructor(description, row) {
    super(description, row);
    this.encoding = Math.ceil(this.layers / 2); // layers of the encoder; the others are the decoder's
    this.decoding = this.layers - this.encoding;
  }

  /**
   * Read a source under full attention.
   *
   * @returns `layers`, each a list of heads as those of `Transformer.read`; `sources`, the keys and values that each
   *   layer of the decoder looks across at.
   */
  encode(ids) {
    let stream = this.embedded(ids, 0);
    const mask = matrix(full, ids.length);
    const cache = this.emptyCache(this.encoding);
    const layers = cache.map((ofLayer, layer) => {
      const name = `encoder_blocks.${layer}.`;
      const heads = this.attention(stream, name, mask, ofLayer, 0, EXACT);
      stream = this.worked(this.mixed(stream, heads, `${name}attention.project_out`), name);
      return heads;
    });
    const encoded = stream.map((held) => this.norm("encoder_norm", held));
    const sources = Array.from({ length: this.decoding }, (_, layer) => {
      const rows = encoded.map((held) => this.product(`decoder_blocks.${layer}.cross.project_source`, held));
      return {
        keys: rows.map((projected, place) => this.ofHeads(projected, 0, place)),
        values: rows.map((projected) => this.ofHeads(projected, 1)),
      };
    });
    return { layers, sources };
  }

  /**
   * Read target tokens that follow those in the cache, and put them into it.
   *
   * @param sources of `encode`.
   * @param cache of `emptyCache(decoding)`.
   * @returns `layers`, each with the heads of `self` and of `cross`; `logits` at the new positions.
   */
  decode(ids, sources, cache = this.emptyCache(this.decoding)) {
    const start = cache[0].keys.length;
    const overTarget = matrix(causal, ids.length, start + ids.length);
    const across = matrix(full, ids.length, sources[0].keys.length);
    let stream = this.embedded(ids, start);
    const layers = cache.map((ofLayer, layer) => {
      const name = `decoder_blocks.${layer}.`;
      const self = this.attention(stream, name, overTarget, ofLayer, start, EXACT);
      stream = this.mixed(stream, self, `${name}attention.project_out`);
      const queries = stream.map((held, place) =>
        this.ofHeads(
          this.product(`${name}cross.project_target`, this.norm(`${name}cross_norm`, held)),
          0,
          start + place,
        ),
      );
      const cross = this.attended(queries, sources[layer], across, EXACT);
      stream = this.worked(this.mixed(stream, cross, `${name}cross.project_out`), name);
      return { self, cross };
    });
    return { layers, logits: this.answered(stream) };
  }

  /**
   * Write a target, always the likeliest token next.
   *
   * @param sources of `encode`.
   * @param start the token that the decoder begins with.
   * @param end the answer that ends a target.
   * @param most tokens that are read at most, the first included.
   * @returns `ids` of the tokens read, the `logits` that each was answered by, and whether the target `ended`.
   */
  write(sources, start, end, most) {
    const cache = this.emptyCache(this.decoding);
    const [ids, logits] = [[], []];
    let next = start;
    while (next !== end && ids.length < most) {
      ids.push(next);
      logits.push(...this.decode([next], sources, cache).logits);
      next = largest(logits.at(-1));
    }
    return { ids, logits, ended: next === end };
  }
}
