/** Makes the blocks of Slack's Block Kit that alerts consist of, within the lengths that Slack allows. */

import { slackCode, VALUE_CHARACTERS_MAX } from '../../wording/clean-text.ts';

/** A section takes 3,000 characters (Block Kit reference, "Section block"). */
export const SECTION_CHARACTERS_MAX = 2_900;

/** A section takes 10 fields (Block Kit reference, "Section block"). */
export const FIELDS_MAX = 10;

export function header(text: string): object {
  return { type: 'header', text: { type: 'plain_text', text, emoji: false } };
}

export function section(text: string): object {
  return { type: 'section', text: markdown(text) };
}

/** `verbatim` keeps Slack from turning parts of the text into links, channels or mentions. */
export function markdown(text: string): object {
  return { type: 'mrkdwn', text, verbatim: true };
}

/** Joins lines into as few texts as sections can take. */
export function inSections(lines: readonly string[]): readonly string[] {
  const sections: string[] = [];
  for (const line of lines) {
    const last = sections.at(-1);
    if (last === undefined || last.length + line.length + 1 > SECTION_CHARACTERS_MAX) sections.push(line);
    else sections[sections.length - 1] = `${last}\n${line}`;
  }
  return sections;
}

/**
 * Returns a time that Slack shows in the zone of its reader (Slack API documentation, "Date formatting"). Where Slack
 * cannot, it shows the time in UTC. A text that is no time is shown as it is.
 */
export function slackTime(text: string): string {
  const seconds = Math.floor(Date.parse(text) / 1_000);
  if (Number.isNaN(seconds)) return slackCode(text, VALUE_CHARACTERS_MAX);
  const utc = new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  return `<!date^${seconds}^{date_short_pretty} {time_secs}|${utc} UTC>`;
}
