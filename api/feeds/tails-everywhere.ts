/** Live output wherever the node lives: of a session here, else asked of the admin that owns the node. */
import type { Clock } from '../../actors/ports.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { Owner } from '../forwarding/ports.ts';
import { TAIL_RETRY_MS } from './limits.ts';
import type { Tails, TailsElsewhere } from './ports.ts';

/** What it is made of. */
export interface TailsEverywherePorts {
  readonly here: Tails;
  readonly elsewhere: TailsElsewhere;
  /** Whether another admin may own the node, as far as is known here without a look. */
  readonly isElsewhere: (node: NodeId) => boolean;
  /** Rejects with DatabaseUnavailable. */
  readonly ownerOf: (node: NodeId) => Promise<Owner>;
  readonly clock: Pick<Clock, 'after'>;
}

/**
 * Where the node has no session here and another admin owns it, that one is asked. Whenever nobody can be asked, or
 * nothing comes any more, the stream is to be opened anew after TAIL_RETRY_MS, from where its readers are.
 */
export function tailsEverywhere({ here, elsewhere, isElsewhere, ownerOf, clock }: TailsEverywherePorts): Tails {
  return {
    open(node, execution, offset, onOutput, onRenewed) {
      const local = here.open(node, execution, offset, onOutput, onRenewed);
      if (local !== null || !isElsewhere(node)) return local;
      let isOver = false;
      let end = (): void => undefined;
      const again = (): void => {
        if (!isOver) end = clock.after(TAIL_RETRY_MS, onRenewed);
      };
      const found = (owner: Owner): void => {
        if (isOver) return;
        const place = { node, execution, offset };
        const close = owner.type === 'elsewhere' ? elsewhere.open(owner.admin, place, onOutput, again) : null;
        if (close === null) again();
        else if (!isOver) end = close;
      };
      ownerOf(node).then(found, again);
      return () => {
        isOver = true;
        end();
      };
    },
  };
}
