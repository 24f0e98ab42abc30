/** A create that a component makes, as long as it is there. */
import { useMemo } from 'preact/hooks';
import type { Keyed } from '../../api/idempotency.ts';
import { keyed, type Create } from '../creates.ts';

/** The same create for as long as its component is there: one in doubt is sent again as it was. */
export function useCreate<I extends Keyed, O>(create: (input: I) => Promise<O>): Create<I, O> {
  return useMemo(() => keyed(create), []);
}
