/** Labels and domains, as they are written in settings. */
import { text } from './fields.ts';

/** A label of a host name (RFC 1123), lower-case. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/u;

/** Names of a domain (RFC 1123), lower-case, at most 253 characters in all. */
export const DOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/u;

/** A label of at most so many characters. */
export const label = (charactersMax: number) =>
  text({
    max: charactersMax,
    pattern: LABEL,
    expected: `at most ${charactersMax} lower-case letters, digits and hyphens, with a letter or digit at both ends`,
  });

/** A host name as the name of an admin: its first label, without what a label may not hold. */
export function labelOf(hostName: string): string {
  const first = hostName.toLowerCase().split('.')[0] ?? '';
  return (
    first
      .replaceAll(/[^a-z0-9-]/gu, '-')
      .slice(0, 63)
      .replaceAll(/^-+|-+$/gu, '') || 'admin'
  );
}
