/** Says why the operating system refused a port, and which option chooses another one. */

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'is reserved for programs with more rights',
};

/** Returns undefined when the error's code says nothing about the port. `option` is the name without its dashes. */
export function portRefusal(
  code: string,
  { port, option }: { readonly port: number | string; readonly option: string },
): string | undefined {
  const reason = REASONS[code];
  return reason && `Port ${port} ${reason}; choose another one with --${option}, or leave it out.`;
}
