/** JSON of WebSocket messages, in which what many subscribers are told is written only once. */
import type { Encoder } from '@trpc/server/adapters/ws';
import { parseJson } from '../rest/json-body.ts';

/**
 * Calls in one message, as many as may be under way on a connection: each costs what a call by itself does, and all of
 * a message are begun at once.
 */
export const MESSAGE_CALLS_MAX = 256;

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
      const said = parseJson(Buffer.from(text));
      if (Array.isArray(said) && said.length > MESSAGE_CALLS_MAX)
        throw new RangeError(`more than ${MESSAGE_CALLS_MAX} calls in one message`);
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
