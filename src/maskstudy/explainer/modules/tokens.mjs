// The reader's text as the tokens of a model: bytes of UTF-8, or the letters of a synthetic source.

const SIGNS = { " ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
const LONE = /\p{Cs}/u;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * The first `count` tokens of a text.
 *
 * A token is `{ id, label, part, title }`; `part` is "1/2" at the first byte of a character of two bytes, else "".
 * Where the text holds no token at all, the tokens are those of `example`, and `note` says so.
 */
export function tokens(text, description, count, example) {
  const read = description.alphabet === "bytes" ? bytes : letters;
  const found = read(text, description.symbols);
  const unused = description.alphabet === "letters" ? [...text].filter((sign) => sign.trim()).length - found.length : 0;
  if (found.length === 0) {
    const why = text.trim() === "" ? "The field is empty" : "The text holds none of the letters that this model knows";
    return {
      tokens: read(example, description.symbols).slice(0, count),
      total: 0,
      note: `${why}: an example is shown.`,
    };
  }
  const notes = [];
  if (unused > 0)
    notes.push(`This model knows the letters A to ${LETTERS[description.symbols - 1]}; others are left out.`);
  if (found.length > count) notes.push(`${count} of ${found.length.toLocaleString("en")} tokens are shown.`);
  const last = found[Math.min(count, found.length) - 1];
  const [part, parts] = last.part.split("/");
  if (parts && part !== parts) notes.push(`The last token is byte ${part} of the ${parts} that make “${last.label}”.`);
  return { tokens: found.slice(0, count), total: found.length, note: notes.join(" ") };
}

/** What stands for a hidden token. */
export function hiddenToken(id) {
  return { id, label: "▢", part: "", title: "a hidden token" };
}

/** A token that the model made, as a token of the page. */
export function madeToken(id, description) {
  if (description.alphabet === "letters") return letter(id);
  if (description.alphabet === "names") return symbol(id, description);
  if (id < 128) return byteOf(String.fromCharCode(id), id, 1, 1);
  const hex = id.toString(16).toUpperCase().padStart(2, "0");
  return { id, label: hex, part: "", title: `byte ${id}, part of a character of several bytes` };
}

/**
 * A word as the letters of an encoder–decoder, at most `count`: `{ tokens, note }`. Accents are taken off; what is no
 * letter of the model is left out; a word without any letter is replaced by `example`.
 */
export function wordTokens(word, description, count, example) {
  const letters = description.names.slice(description.end + 1, description.start);
  const signs = [...word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "")];
  const found = signs.filter((sign) => letters.includes(sign));
  if (found.length === 0) {
    const note = `None of its letters is one that the model knows: “${example}” is shown.`;
    return { tokens: wordTokens(example, description, count, example).tokens, note };
  }
  const notes = [];
  if (found.length < signs.length) notes.push("Signs that the model does not know are left out.");
  if (found.length > count) notes.push(`The first ${count} of ${found.length} letters are read.`);
  const idOf = (sign) => description.end + 1 + letters.indexOf(sign);
  return { tokens: found.slice(0, count).map((sign) => madeToken(idOf(sign), description)), note: notes.join(" ") };
}

/** Tokens as text, with visible signs for line ends and for bytes that are no UTF-8. */
export function spelled(ids, description) {
  if (description.alphabet === "letters") return ids.map((id) => LETTERS[id]).join("");
  const text = new TextDecoder().decode(Uint8Array.from(ids.map((id) => (id < 256 ? id : 63))));
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (sign) => SIGNS[sign] ?? "·");
}

/** "3 ‘u’": a position and its token, in words. Positions count from 1. */
export function named(list, index) {
  const { label, part } = list[index];
  return `${index + 1} ‘${label}${part && ` ${part}`}’`;
}

function bytes(text) {
  const found = [];
  const encoder = new TextEncoder();
  for (const sign of text) {
    const codes = encoder.encode(sign);
    const seen = LONE.test(sign) ? "\ufffd" : sign; // half of a pair is written as the sign for what cannot be written
    codes.forEach((code, place) => found.push(byteOf(seen, code, place + 1, codes.length)));
  }
  return found;
}

function byteOf(sign, id, place, places) {
  const part = places === 1 ? "" : `${place}/${places}`;
  const title = `byte ${id}${places === 1 ? "" : `, number ${place} of the ${places} bytes of ${visible(sign)}`}`;
  return { id, label: visible(sign), part, title };
}

function visible(sign) {
  if (sign in SIGNS) return SIGNS[sign];
  if (/\p{M}/u.test(sign)) return `◌${sign}`;
  if (/[\p{C}\p{Z}]/u.test(sign)) return sign.codePointAt(0).toString(16).toUpperCase().padStart(2, "0");
  return sign;
}

function letters(text, symbols) {
  return [...text.toUpperCase()]
    .map((sign) => LETTERS.indexOf(sign))
    .filter((id) => id >= 0 && id < symbols)
    .map(letter);
}

function symbol(id, { names, start, end }) {
  if (id === start) return { id, label: "⊢", part: "", title: "the sign that the decoder begins with" };
  if (id === end) return { id, label: "⊣", part: "", title: "the end of the answer" };
  const title = id > end ? `letter ${names[id]}` : `phoneme ${names[id]}`;
  return { id, label: names[id] || "·", part: "", title: names[id] ? title : "a symbol that is not in use" };
}

function letter(id) {
  return { id, label: LETTERS[id], part: "", title: `symbol ${LETTERS[id]}` };
}
