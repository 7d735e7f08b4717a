/**
 * Makes text from outside safe to show in a message: it becomes one line without invisible characters and secrets,
 * and is cut.
 */

import { oneLine } from '../../../shared/runtime/foreign-text.ts';
import { HIDDEN_MARK, partToSearch, withoutSecretShapes } from '../../../shared/runtime/secret.ts';

const CUT_MARK = ' ... (cut)';

/** A single value in an alert, such as an id or a status, has at most this length. */
export const VALUE_CHARACTERS_MAX = 120;

/** The upstream's error text in an alert has at most this length. */
export const ERROR_CHARACTERS_MAX = 600;

/**
 * Cuts the text at a word and marks the cut. The result has at most `charactersMax` UTF-16 units, the mark included.
 */
export function cleanText(text: string, charactersMax: number): string {
  const open = withoutSecretShapes(partToSearch(text, charactersMax), HIDDEN_MARK);
  const clean = oneLine(open);
  if (clean.length <= charactersMax) return clean;
  const room = clean.slice(0, charactersMax - CUT_MARK.length);
  const lastSpace = room.lastIndexOf(' ');
  // A single long word may be cut anywhere, except inside a character.
  const kept = lastSpace > room.length / 2 ? room.slice(0, lastSpace) : room.replace(/[\uD800-\uDBFF]$/, '');
  return `${kept.trimEnd()}${CUT_MARK}`;
}

/**
 * Returns a code span of Slack, in which nothing is formatting, a mention, an emoji or a link. The escapes are those
 * that Slack asks for.
 */
export function slackCode(text: string, charactersMax: number): string {
  const escaped = cleanText(text, charactersMax)
    .replaceAll('`', "'")
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `\`${escaped === '' ? '-' : escaped}\``;
}

/** Returns plain text for a mail. Mail programs make a link of what looks like one, so its scheme is broken up. */
export function mailText(text: string, charactersMax: number): string {
  return cleanText(
    withoutSecretShapes(partToSearch(text, charactersMax), HIDDEN_MARK)
      .replaceAll('://', ': //')
      .replaceAll(/\bwww\./giu, 'www ')
      .replaceAll(/\bmailto:/giu, 'mailto '),
    charactersMax,
  );
}

/**
 * Returns the subject of a mail. SNS refuses line breaks, control characters, and 100 or more characters (API
 * Reference, "Publish").
 */
export function mailSubject(text: string): string {
  const ascii = cleanText(text, 99).replaceAll(/[^\x20-\x7e]/g, '?');
  return /^[A-Za-z0-9]/.test(ascii) ? ascii : `Alert: ${ascii}`.slice(0, 99);
}
