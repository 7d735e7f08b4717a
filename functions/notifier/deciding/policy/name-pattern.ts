/** Compares the names of projects with patterns such as `prod-*`, in which `*` stands for any text, also for none. */

/** Returns whether the whole name fits. Large and small letters differ, as they do at the upstream. */
export function fitsPattern(name: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const found = name.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
