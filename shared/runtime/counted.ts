/** Returns a number with its noun, as `1 project` or `5 projects`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
