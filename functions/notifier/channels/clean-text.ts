/** Makes text from outside safe to stand in a message: one line, nothing invisible, not too long. */

/** Control, format (bidi marks, zero width), surrogate, private use, line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const CUT_MARK = ' ... (cut)';

/** Cuts at a word and says so. The result has at most `charactersMax` UTF-16 units, mark included. */
export function cleanText(text: string, charactersMax: number): string {
  const clean = text.replaceAll(UNPRINTABLE, ' ').replaceAll(/\s+/gu, ' ').trim();
  if (clean.length <= charactersMax) return clean;
  const room = clean.slice(0, charactersMax - CUT_MARK.length);
  const lastSpace = room.lastIndexOf(' ');
  // A single long word has no better place to cut than anywhere, but never inside a character.
  const kept = lastSpace > room.length / 2 ? room.slice(0, lastSpace) : room.replace(/[\uD800-\uDBFF]$/, '');
  return `${kept.trimEnd()}${CUT_MARK}`;
}

/** In a code span nothing is formatting, a mention, an emoji or a link; the escapes are those Slack asks for. */
export function slackCode(text: string, charactersMax: number): string {
  const escaped = cleanText(text, charactersMax)
    .replaceAll('`', "'")
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `\`${escaped === '' ? '-' : escaped}\``;
}

/** Mail programs make links of what looks like one; a broken scheme does not. */
export function mailText(text: string, charactersMax: number): string {
  return cleanText(
    text
      .replaceAll('://', ': //')
      .replaceAll(/\bwww\./giu, 'www ')
      .replaceAll(/\bmailto:/giu, 'mailto '),
    charactersMax,
  );
}

/** SNS refuses a subject with line breaks, control characters or 100 and more characters (Publish, "Subject"). */
export function mailSubject(text: string): string {
  const ascii = cleanText(text, 99).replaceAll(/[^\x20-\x7e]/g, '?');
  return /^[A-Za-z0-9]/.test(ascii) ? ascii : `Alert: ${ascii}`.slice(0, 99);
}
