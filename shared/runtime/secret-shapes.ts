/** Secrets that can be recognised in any text by how they look, whatever the text is about. */

/** What gives itself away wherever it stands: private keys, JSON Web Tokens, and tokens with the prefix of their issuer. */
const WHOLE = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
  /(?<![A-Za-z0-9])(?:napi|npg|opb|ssk|sk|gh[a-z]|github_pat|xoxb)_[A-Za-z0-9_-]{10,}/g,
  /(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/g,
] as const;

/** Ends of names whose values are secrets. */
const NAME = '(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|token)';

/** Each keeps what stands before the secret. */
const AFTER = [
  // `postgres://user:password@host`, and what is left of it when the text ends early: a port is digits, and few.
  /(:\/\/[^\s:@/]*:)[^\s/]*(?=@)/g,
  /(:\/\/[^\s:@/[]*:)(?!\d{1,5}(?![^\s/?#,;.)"'\]]))[^\s/@]+/g,
  // `password=...`, in a query or between spaces, and quoted or not.
  new RegExp(`(${NAME}\\s*=\\s*)(?:'[^']*|"[^"]*|[^\\s&;'"]+)`, 'gi'),
  // `"password":"..."`, and the same within a text of JSON.
  new RegExp(`("[\\w-]{0,40}${NAME}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)+`, 'gi'),
  new RegExp(`(\\\\"[\\w-]{0,40}${NAME}\\\\"\\s*:\\s*\\\\")(?:(?!\\\\").)+`, 'gi'),
  /(\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?)[^\s"',;]+/gi,
  /(\bbearer\s+)(?=\S*\d)[\w.~+/=-]{8,}/gi,
] as const;

/** For people to see that something was there. */
export const HIDDEN_MARK = '[hidden]';

/** The same text with `mark` instead of each secret. */
export function withoutSecretShapes(text: string, mark: string): string {
  const plain = WHOLE.reduce((left, shape) => left.replace(shape, mark), text);
  return AFTER.reduce((left, shape) => left.replace(shape, `$1${mark}`), plain);
}
