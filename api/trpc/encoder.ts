/** JSON of WebSocket messages, in which what many subscribers are told is written only once. */
import type { Encoder } from '@trpc/server/adapters/ws';
import { LABELS_MAX } from '../../transport/protocol/labels.ts';
import { parseJson } from '../rest/json-body.ts';

/**
 * Calls in one message, as many as may be under way on a connection: each costs what a call by itself does, and all of
 * a message are begun at once. Where there are more, each is refused.
 */
export const MESSAGE_CALLS_MAX = 256;

/** Calls in one message that are refused one by one: each refusal is built and sent. More are one mistake. */
const REFUSED_CALLS_MAX = 4 * MESSAGE_CALLS_MAX;

/** What a call has at most: all labels that a node may have, and what is around them. */
const CALL_MEMBERS_MAX = LABELS_MAX + 8;

/**
 * Members of all objects of a message. One with more is answered as one mistake, which is no call's: clients go on
 * waiting for theirs.
 */
export const MESSAGE_MEMBERS_MAX = MESSAGE_CALLS_MAX * CALL_MEMBERS_MAX;

/** The part of a message that a feed shares between its subscribers. */
interface Told {
  readonly id: number | string | null;
  readonly result: {
    readonly type: 'data';
    readonly id: string;
    readonly data: { readonly id: string; readonly data: object };
  };
}

/** An encoder that remembers the JSON of shared messages for as long as they live. */
export function createEncoder(): Encoder {
  const texts = new WeakMap<object, string>();
  const textOf = (data: object): string => {
    const known = texts.get(data);
    if (known !== undefined) return known;
    const text = JSON.stringify(data);
    texts.set(data, text);
    return text;
  };
  return {
    encode(message) {
      if (!isTold(message)) return JSON.stringify(message);
      const id = JSON.stringify(message.result.id);
      return `{"id":${JSON.stringify(message.id)},"result":{"type":"data","id":${id},"data":{"id":${id},"data":${textOf(message.result.data.data)}}}}`;
    },
    decode(text) {
      if (typeof text !== 'string') throw new SyntaxError('not text');
      const said = parseJson(Buffer.from(text), MESSAGE_MEMBERS_MAX);
      if (Array.isArray(said) && said.length > REFUSED_CALLS_MAX) throw new RangeError('too many calls in one message');
      return said;
    },
  };
}

function isTold(message: unknown): message is Told {
  const { result } = message as Partial<Told>;
  return (
    result?.type === 'data' &&
    typeof result.id === 'string' &&
    typeof result.data?.data === 'object' &&
    result.data.data !== null
  );
}
