/** Makes text from outside safe to show in a message: one line, nothing invisible, no secret, not too long. */

import { HIDDEN_MARK, withoutSecretShapes } from '../../../shared/runtime/secret-shapes.ts';

/** Characters that are control, format (bidi marks, zero width), surrogate, private use, or separators of lines and paragraphs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const CUT_MARK = ' ... (cut)';

/** Length of a single value in an alert, such as an id or a status. */
export const VALUE_CHARACTERS_MAX = 120;

/** Length of the upstream's error text in an alert. */
export const ERROR_CHARACTERS_MAX = 600;

/** Cuts at a word and says so. The result has at most `charactersMax` UTF-16 units, the mark included. */
export function cleanText(text: string, charactersMax: number): string {
  const open = withoutSecretShapes(text, HIDDEN_MARK);
  const clean = open.replaceAll(UNPRINTABLE, ' ').replaceAll(/\s+/gu, ' ').trim();
  if (clean.length <= charactersMax) return clean;
  const room = clean.slice(0, charactersMax - CUT_MARK.length);
  const lastSpace = room.lastIndexOf(' ');
  // A single long word may be cut anywhere, except inside a character.
  const kept = lastSpace > room.length / 2 ? room.slice(0, lastSpace) : room.replace(/[\uD800-\uDBFF]$/, '');
  return `${kept.trimEnd()}${CUT_MARK}`;
}

/** As a code span of Slack, in which nothing is formatting, a mention, an emoji or a link. The escapes are those that Slack asks for. */
export function slackCode(text: string, charactersMax: number): string {
  const escaped = cleanText(text, charactersMax)
    .replaceAll('`', "'")
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `\`${escaped === '' ? '-' : escaped}\``;
}

/** As plain text of a mail. Mail programs make a link of what looks like one, so that its scheme is broken up. */
export function mailText(text: string, charactersMax: number): string {
  return cleanText(
    withoutSecretShapes(text, HIDDEN_MARK)
      .replaceAll('://', ': //')
      .replaceAll(/\bwww\./giu, 'www ')
      .replaceAll(/\bmailto:/giu, 'mailto '),
    charactersMax,
  );
}

/** As the subject of a mail. SNS refuses line breaks, control characters, and 100 or more characters (API Reference, "Publish"). */
export function mailSubject(text: string): string {
  const ascii = cleanText(text, 99).replaceAll(/[^\x20-\x7e]/g, '?');
  return /^[A-Za-z0-9]/.test(ascii) ? ascii : `Alert: ${ascii}`.slice(0, 99);
}
