/** Names the likeliest reason when a server refuses a good key: its address lacks the path of the API. */

const API_PATH = '/api/v2';

/** Returns what to do, without a full stop, or undefined when the path is as it should be. No key is worth a look before that. */
export function pathFault(baseUrl: string): string | undefined {
  const { origin, pathname } = new URL(baseUrl);
  if (pathname.replace(/(?<!\/)\/+$/, '').endsWith(API_PATH)) return undefined;
  return `check the address first: its path is ${pathname}, and the API of the service is at ${origin}${API_PATH}`;
}
