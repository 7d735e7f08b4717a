/**
 * Hides secrets in the answer to a read, for a caller without the scope for them. It finds them by the names of
 * fields, and by the shapes of texts.
 */

import { withoutSecretShapes } from '../runtime/secret.ts';
import { type Cut, type JsonPart, readJson, textOf, withCuts } from './json-text.ts';

const HIDDEN = '';

/** Matches names without their separators and in small letters: `clientSecret`, `client-secret` and `CLIENT_SECRET` are the same name. */
const SECRET_NAME =
  /(password|passwd|passphrase|secret|privatekey|credential)|(^|_)pwd$|(apikey|accesskey|accesstoken|refreshtoken|authtoken|connectionuri|connectionstring|databaseurl|dsn)$/;

/** A time is no secret, even below a name like `password_updated_at`. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** A text that begins like this is JSON, and is not shown unless it can be read to its end. */
const JSON_START = /^\s*["[{]/;

/**
 * Returns the same text when it has no secret in it, and undefined when it cannot be shown safely. What is hidden is cut
 * out of the text, and everything else of it stays.
 */
export function withoutSecrets(text: string): string | undefined {
  if (!JSON_START.test(text)) return withoutShapes(text);
  const values = readJson(text);
  if (values === undefined) return undefined;
  const cuts: Cut[] = [];
  for (const value of values) findSecrets({ text, cuts }, value, false);
  return withCuts(text, cuts);
}

interface Search {
  readonly text: string;
  readonly cuts: Cut[];
}

/** Each member counts, also when another one has the same name. `isSecret`: the value stands below a name of a secret. */
function findSecrets(search: Search, part: JsonPart, isSecret: boolean): void {
  const { text, cuts } = search;
  const { kind, start, end } = part;
  if (kind === 'text') {
    const value = textOf(text, part);
    const shown = hideText(value, isSecret);
    if (shown !== value) cuts.push({ start, end, by: JSON.stringify(shown) });
  }
  if (kind === 'number' && isSecret && text.slice(start, end) !== '0') cuts.push({ start, end, by: '0' });
  if (kind === 'list') for (const item of part.items) findSecrets(search, item, isSecret);
  if (kind !== 'object') return;
  for (const { name, value } of part.members) {
    const named = textOf(text, name);
    const nameKind = kindOf(named);
    if (nameKind === 'shaped') cuts.push({ ...name, by: JSON.stringify(withoutShapes(named)) });
    const isNamedSecret = nameKind === 'secret' || (nameKind === 'shaped' && isSecretName(named));
    findSecrets(search, value, isSecret || isNamedSecret);
  }
}

function hideText(text: string, isSecret: boolean): string {
  return isSecret && !TIME.test(text) ? HIDDEN : withoutShapes(text);
}

/** What a name says: its value is a secret, the name itself looks like a secret, or nothing of the kind. */
type NameKind = 'secret' | 'shaped' | 'plain';

/** Answers repeat a few hundred names, so what was found out about a name is remembered. */
const KINDS = new Map<string, NameKind>();

/** More names than this, or longer ones, are looked at each time: a name may be anything that a user has chosen. */
const NAMES_MAX = 2_000;
const NAME_CHARACTERS_MAX = 64;

function kindOf(name: string): NameKind {
  const known = KINDS.get(name);
  if (known !== undefined) return known;
  // A name that looks like a secret may be one, so it is not kept.
  if (withoutShapes(name) !== name) return 'shaped';
  const kind = isSecretName(name) ? 'secret' : 'plain';
  if (KINDS.size < NAMES_MAX && name.length <= NAME_CHARACTERS_MAX) KINDS.set(name, kind);
  return kind;
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[^A-Za-z0-9]/g, '').toLowerCase());
}

function withoutShapes(text: string): string {
  return withoutSecretShapes(text, HIDDEN);
}
