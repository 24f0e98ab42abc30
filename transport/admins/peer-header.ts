/** The header by which a request between admins says from whom, to whom and when it is. Its form only. */

/** What the header says. Nothing of it is believed before its proof was checked. */
export interface PeerHeader {
  /** Id of the admin that asks, and of its process. */
  readonly fromAdmin: string;
  readonly fromInstance: string;
  /** Process that is meant. */
  readonly toInstance: string;
  /** When it was sent, Unix ms by the database's clock. */
  readonly sentAtMs: number;
  /** 12 random bytes, base64url. */
  readonly nonce: string;
}

/** A header as it came: what it says, the text that is proven, the proof, and all of it. */
export interface ReceivedHeader {
  readonly said: PeerHeader;
  readonly unproven: string;
  readonly proof: string;
  readonly text: string;
}

/** First part: how the rest is to be read. */
const FORM = '1';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** `1.<from admin>.<from instance>.<to instance>.<ms>.<nonce>.<proof>`. */
const WRITTEN = new RegExp(
  `^(?<unproven>${FORM}\\.(?<fromAdmin>${UUID})\\.(?<fromInstance>${UUID})\\.(?<toInstance>${UUID})\\.(?<ms>\\d{1,15})\\.(?<nonce>[\\w-]{16}))\\.(?<proof>[\\w-]{22})$`,
  'u',
);

/** The part that is proven. */
export function writtenHeader({ fromAdmin, fromInstance, toInstance, sentAtMs, nonce }: PeerHeader): string {
  return [FORM, fromAdmin, fromInstance, toInstance, sentAtMs, nonce].join('.');
}

/** Null: it is none. */
export function readHeader(text: unknown): ReceivedHeader | null {
  const parts = typeof text === 'string' ? WRITTEN.exec(text)?.groups : undefined;
  if (parts === undefined) return null;
  const { fromAdmin = '', fromInstance = '', toInstance = '', ms, nonce = '', unproven = '', proof = '' } = parts;
  return {
    said: { fromAdmin, fromInstance, toInstance, sentAtMs: Number(ms), nonce },
    unproven,
    proof,
    text: text as string,
  };
}
