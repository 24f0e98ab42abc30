/** Finds secrets in whatever came out of the programs, in every form in which they leak. */

/** A secret by a name under which it may be told of. */
export interface Secret {
  readonly name: string;
  readonly value: string | Uint8Array;
}

/** One find. Never holds the secret itself. */
export interface Leak {
  readonly secret: string;
  readonly form: string;
  /** Where it was found. */
  readonly place: string;
}

/** Shorter secrets would be found by chance. In bytes. */
const SECRET_BYTES_MIN = 12;

/** Every form of every secret that is in `text`. */
export function leaksIn(place: string, text: string, secrets: readonly Secret[]): Leak[] {
  const lower = text.toLowerCase();
  return secrets.flatMap((secret) =>
    formsOf(secret)
      .filter(({ ignoresCase, needle }) => (ignoresCase ? lower : text).includes(needle))
      .map(({ form }) => ({ secret: secret.name, form, place })),
  );
}

interface Form {
  readonly form: string;
  readonly needle: string;
  readonly ignoresCase: boolean;
}

function formsOf({ name, value }: Secret): Form[] {
  const bytes = Buffer.from(value as Uint8Array);
  if (bytes.length < SECRET_BYTES_MIN) throw new Error(`${name} is too short to be told from chance`);
  const exact = (form: string, needle: string): Form => ({ form, needle, ignoresCase: false });
  return [
    ...(typeof value === 'string'
      ? [
          exact('raw', value),
          exact('URL', encodeURIComponent(value)),
          exact('JSON', JSON.stringify(value).slice(1, -1)),
          exact('reversed', value.split('').toReversed().join('')),
        ]
      : []),
    { form: 'hex', needle: bytes.toString('hex'), ignoresCase: true },
    ...[0, 1, 2].flatMap((shift) => [
      exact('base64', inBase64(bytes, shift, 'base64')),
      exact('base64url', inBase64(bytes, shift, 'base64url')),
    ]),
  ];
}

/**
 * What is the same in base64 whatever stands before and behind, when the secret begins `shift` bytes into a group of
 * three.
 */
function inBase64(bytes: Buffer, shift: number, encoding: 'base64' | 'base64url'): string {
  const whole = Math.floor((bytes.length - ((3 - shift) % 3)) / 3) * 3;
  const start = (3 - shift) % 3;
  return bytes.subarray(start, start + whole).toString(encoding);
}
