/** The pieces that inputs about SSH are made of. */
import { z } from 'zod';
import type { SshPublicKeyRecord } from '../../actors/records.ts';
import { parsePublicKey, PUBLIC_KEY_LINE_CHARS_MAX } from '../../actors/ssh/public-key.ts';
import { SSH_KEY_ALGORITHMS } from '../../transport/protocol/ssh.ts';
import { storableText } from './inputs.ts';

/** Source: docs/limits.md. */
const KEY_NAME_CHARS_MAX = 255;

/** What every key looks like from afar, for JSON Schema; what is in its base64 is checked as well. */
const PUBLIC_KEY_PATTERN = `^\\s*(?:${SSH_KEY_ALGORITHMS.join('|')})[ \\t]+[A-Za-z0-9+/]{32,8000}={0,2}(?:[ \\t][^\\u0000-\\u001f]*)?\\s*$`;

/**
 * What a client calls a key, and the key: at most `PUBLIC_KEY_LINE_CHARS_MAX` characters in one line, refused with the
 * mistake that it is.
 */
export const PublicKeyInput = {
  key_name: storableText(KEY_NAME_CHARS_MAX).min(1),
  public_key: storableText(PUBLIC_KEY_LINE_CHARS_MAX)
    .transform((text, context) => {
      const parsed = parsePublicKey(text);
      if (parsed.ok) return parsed.key;
      context.addIssue({ code: 'custom', message: parsed.problem });
      return z.NEVER;
    })
    .meta({ minLength: 1, pattern: PUBLIC_KEY_PATTERN })
    .describe(
      'A line of OpenSSH: ssh-ed25519, ecdsa-sha2-nistp256, -nistp384, -nistp521 or ssh-rsa (2048 bits or more), base64, and maybe a comment.',
    ),
};

const publicKeyObject = z.strictObject(PublicKeyInput);

/** One of several keys. */
export type GivenPublicKey = z.output<typeof publicKeyObject>;

/** Some keys, none of them twice. */
export function publicKeys(max: number) {
  return z
    .array(publicKeyObject)
    .max(max)
    .superRefine((keys, context) => {
      const seen = new Set<string>();
      for (const [index, { public_key: key }] of keys.entries()) {
        if (seen.has(key.fingerprint))
          context.addIssue({ code: 'custom', path: [index, 'public_key'], message: 'is given twice' });
        seen.add(key.fingerprint);
      }
    });
}

/** A key as it is stored. */
export function publicKeyRecord(
  id: string,
  { key_name: keyName, public_key: { line, fingerprint } }: GivenPublicKey,
): SshPublicKeyRecord {
  return { id, keyName, line, fingerprint };
}
