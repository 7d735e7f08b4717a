/** Does with HTTP what a browser does for a person who signs in: follows redirects, keeps cookies, and fills in the form. */

interface Cookie {
  readonly value: string;
  readonly path: string;
}

export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** No sign-in has more steps than this. */
const REDIRECTS_MAX = 10;

export function createPersonWithBrowser() {
  /** The keys are an origin and a name. */
  const jar = new Map<string, Cookie>();

  const cookiesFor = ({ origin, pathname }: URL) =>
    [...jar]
      .filter(([key, { path }]) => key.startsWith(`${origin} `) && pathname.startsWith(path))
      .map(([key, { value }]) => `${key.slice(origin.length + 1)}=${value}`)
      .join('; ');

  const keep = ({ origin }: URL, header: string) => {
    const [pair = '', ...attributes] = header.split(';').map((part) => part.trim());
    const name = pair.slice(0, pair.indexOf('='));
    const attribute = (wanted: string) =>
      attributes.find((each) => each.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const isOver = attribute('max-age') === '0' || Date.parse(attribute('expires') ?? '') < Date.now();
    if (isOver) jar.delete(`${origin} ${name}`);
    else jar.set(`${origin} ${name}`, { value: pair.slice(name.length + 1), path: attribute('path') ?? '/' });
  };

  /** One request, without following its redirect. */
  const send = async (address: string, form?: Readonly<Record<string, string>>): Promise<Visit> => {
    const url = new URL(address);
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: cookiesFor(url) },
      ...(form && { body: new URLSearchParams(form) }),
    });
    for (const header of response.headers.getSetCookie()) keep(url, header);
    return { url: address, status: response.status, text: await response.text(), headers: response.headers };
  };

  const follow = async (
    first: Visit,
    isEnough: (address: string) => boolean = () => false,
  ): Promise<Visit> => {
    let visit = first;
    for (let count = 0; count < REDIRECTS_MAX; count++) {
      const location = visit.headers.get('location');
      if (location === null) return visit;
      const address = new URL(location, visit.url).href;
      if (isEnough(address)) return visit;
      visit = await send(address);
    }
    throw new Error(`The redirects do not end: ${visit.url}`);
  };

  const open = async (address: string) => follow(await send(address));

  return {
    jar,
    send,
    open,

    /** Signs in at the provider, and resolves to the address to which the provider then sends the browser. */
    async reachCallback(start: string, name: string): Promise<string> {
      const isCallback = (address: string) => address.includes('/console/sign-in/callback');
      const asked = await follow(await send(start), isCallback);
      const direct = asked.headers.get('location');
      if (direct !== null) return new URL(direct, asked.url).href;
      const [, action = ''] = /action="([^"]+)"/.exec(asked.text) ?? [];
      const form = { prompt: 'login', login: name, password: 'any' };
      const answered = await follow(await send(new URL(action, asked.url).href, form), isCallback);
      return new URL(answered.headers.get('location') ?? '', answered.url).href;
    },
  };
}
