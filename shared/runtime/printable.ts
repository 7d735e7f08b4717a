/** Takes out of texts from outside what a terminal, a mail or a page obeys instead of showing it. */

/**
 * These are control, format (bidi marks, zero width), surrogate and private-use characters, and separators of lines
 * and paragraphs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Returns the text as one line in which every character is seen. */
export function oneLine(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ').replaceAll(/\s+/gu, ' ').trim();
}

/** These turn the direction of what follows, or are obeyed. A page keeps its lines, and the joiners inside emoji. */
const DISGUISING = /[\p{Bidi_C}\p{Zl}\p{Zp}]|(?![\t\n\r])\p{Cc}/gu;

/** Returns the page with a mark in the place of every character that makes another text of what stands around it. */
export function withoutDisguise(page: string): string {
  return page.replaceAll(DISGUISING, '\uFFFD');
}
