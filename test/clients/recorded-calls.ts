/** Records which calls of a client a test has made. */

/** Returns the client as it is, and notes the name of each method that is called. */
export function recordedCalls<Client extends object>(client: Client, called: Set<string>): Client {
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member === 'function') called.add(String(name));
      return member;
    },
  });
}
