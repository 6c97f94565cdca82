/**
 * Who sits before the browser. The cookie holds the key itself, out of reach of scripts, and every request asks whether it still
 * holds. It comes along with links from elsewhere (a chat, an e-mail), never with forms from elsewhere.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';

/** Where the inbox is, as its readers reach it. */
export interface Place {
  /** Path of the inbox, without a slash at its end. */
  readonly base: string;
  /** Origin of the address that people use, where one is configured. */
  readonly origin?: string;
  readonly secure: boolean;
}

const LOGIN_SECONDS = 12 * 3600;

export function placeOf(publicUrl: string | undefined): Place {
  if (publicUrl === undefined) return { base: '/inbox', secure: false };
  const { origin, pathname, protocol } = new URL(publicUrl);
  return { base: `${pathname.replace(/\/+$/, '')}/inbox`, origin, secure: protocol === 'https:' };
}

type CookieName = 'login' | 'visit';
const nameOf = (place: Place, name: CookieName): string => `${place.secure ? '__Secure-' : ''}continuations_${name}`;

export function readCookie(c: Context, place: Place, name: CookieName): string | undefined {
  return getCookie(c, nameOf(place, name));
}

/** `visit` only ties the login form to the browser that asked for it. */
export function writeCookie(c: Context, place: Place, name: CookieName, value: string): void {
  setCookie(c, nameOf(place, name), value, {
    path: place.base,
    httpOnly: true,
    secure: place.secure,
    sameSite: name === 'login' ? 'Lax' : 'Strict',
    ...(name === 'login' && { maxAge: LOGIN_SECONDS }),
  });
}

export function dropCookie(c: Context, place: Place, name: CookieName): void {
  deleteCookie(c, nameOf(place, name), { path: place.base, secure: place.secure });
}

export const newVisit = (): string => randomBytes(32).toString('base64url');

/** What a form carries to show that it came from a page of ours: only who knows the cookie can make it. */
export function formToken(cookie: string): string {
  return createHmac('sha256', cookie).update('form of the inbox').digest('base64url');
}

export function isFormToken(given: string | null, cookie: string): boolean {
  const [one, other] = [Buffer.from(given ?? ''), Buffer.from(formToken(cookie))];
  return one.byteLength === other.byteLength && timingSafeEqual(one, other);
}

/** Browsers say where a form comes from; one that does not is refused. */
export function isOwnOrigin(c: Context, { origin }: Place): boolean {
  const given = c.req.header('origin');
  if (given === undefined || !URL.canParse(given)) return false;
  return given === origin || new URL(given).host === c.req.header('host');
}
