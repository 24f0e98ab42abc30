/** Who may look: HTTP Basic with the dashboard's own name and password (RFC 7617), compared in constant time. */
import { hash, timingSafeEqual } from 'node:crypto';

/** The credentials; null: nobody is asked. */
export type DebugCredentials = { readonly username: string; readonly password: string } | null;

/** Whether a header shows the credentials. */
export function isAllowed(credentials: DebugCredentials, header: string | undefined): boolean {
  if (credentials === null) return true;
  const encoded = /^Basic +([\w+/]+={0,2}) *$/iu.exec(header ?? '')?.[1] ?? '';
  const given = Buffer.from(encoded, 'base64').toString('utf8');
  return timingSafeEqual(digest(given), digest(`${credentials.username}:${credentials.password}`));
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
