/** Lets the sign-in page offer the company's provider, on whichever address of the console it is shown. */

import type { Context, Hono } from 'hono';

declare module 'hono' {
  interface ContextVariableMap {
    /** People know the company's provider by this host. It is undefined when they sign in with a token alone. */
    signInProvider: string | undefined;
  }
}

/** Must be called before the routes are added. */
export function offerProvider(app: Hono, host: string | undefined): void {
  app.use(async (c, next) => {
    c.set('signInProvider', host);
    await next();
  });
}

/** Returns the provider's host, and undefined when people sign in with a token alone. */
export function offeredProvider(c: Context): string | undefined {
  return c.get('signInProvider');
}
