/** Recordings that were asked for to be played. */
import { parseCast, type Cast } from '../../api/client/asciicast.ts';
import { Problem } from '../problem.ts';

/** What is in it. Throws a `Problem` when it is no asciicast of version 2. */
export function readCast(text: string): Cast {
  const cast = parseCast(text);
  if (cast === null) throw new Problem('the recording is no asciicast of version 2');
  return cast;
}
