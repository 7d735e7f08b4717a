/** What a read shows to a caller without the scope for secrets: the answer parsed, and secrets left out by their names and by their shapes. */

const HIDDEN = '';

/** Of a name without its separators, in small letters: `clientSecret`, `client-secret` and `CLIENT_SECRET` are one. */
const SECRET_NAME =
  /(password|passwd|passphrase|secret|privatekey|credential)|(^|_)pwd$|(apikey|accesskey|accesstoken|refreshtoken|authtoken|connectionuri|connectionstring|databaseurl|dsn)$/;

/** What gives itself away wherever it stands: private keys, JSON Web Tokens, and tokens with the prefix of their issuer. */
const SECRET_SHAPES = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
  /\b(napi|npg|opb|ssk|sk|ghp|gho|xoxb)_[A-Za-z0-9_-]{10,}/g,
] as const;

/** `postgres://user:password@host`, and the same with a password in the query or in `key=value` pairs. */
const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):[^\s/]*@/gi;
const PAIR_PASSWORD = /\b((?:password|passwd|pwd|client_secret|api_key|access_token)\s*=\s*)[^\s&;'"]+/gi;

/** A time is no secret, whatever it is the time of: `password_updated_at`. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** The deepest answer seen has six levels; a deeper one than this is not shown to whom it may not be shown whole. */
const DEPTH_MAX = 100;

/** The very text, wherever nothing has to be left out. Undefined: it cannot be shown safely. */
export function withoutSecrets(text: string): string | undefined {
  const parsed = parseJson(text);
  if (parsed === undefined) return withoutShapes(text);
  try {
    const shown = hide(parsed.value, { isSecret: false, depth: 0 });
    const isSame = JSON.stringify(shown) === JSON.stringify(parsed.value);
    // Of a name that stands there twice the parser keeps one value, and the text would show the other.
    return isSame && namesIn(text) === namesOf(parsed.value) ? text : JSON.stringify(shown);
  } catch {
    return undefined;
  }
}

interface Place {
  /** Below a name that says so. */
  readonly isSecret: boolean;
  readonly depth: number;
}

function hide(value: unknown, { isSecret, depth }: Place): unknown {
  if (depth > DEPTH_MAX) throw new RangeError(`The answer is nested more than ${DEPTH_MAX} deep`);
  if (typeof value === 'string') return isSecret && !TIME.test(value) ? HIDDEN : withoutShapes(value);
  if (typeof value === 'number') return isSecret ? 0 : value;
  if (Array.isArray(value)) return value.map((each) => hide(each, { isSecret, depth: depth + 1 }));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      withoutShapes(name),
      hide(each, { isSecret: isSecret || isSecretName(name), depth: depth + 1 }),
    ]),
  );
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[^A-Za-z0-9]/g, '').toLowerCase());
}

function withoutShapes(text: string): string {
  const plain = SECRET_SHAPES.reduce((left, shape) => left.replace(shape, HIDDEN), text);
  return plain.replace(URL_PASSWORD, '$1:@').replace(PAIR_PASSWORD, '$1');
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Outside of strings a colon follows nothing but a name. */
function namesIn(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) count += 1;
  return count;
}

function namesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, each) => sum + namesOf(each), own);
}
