/** Makes the blocks of Slack's Block Kit that alerts consist of, within the lengths that Slack allows. */

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
