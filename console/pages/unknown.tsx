/** What stands at an address that is no page. */
import { Heading } from '../parts/heading.tsx';
import { State } from '../parts/state.tsx';
import { BASE } from '../routes.ts';
import { TEXTS } from '../texts.ts';

/** It leads back. */
export function UnknownPage() {
  return (
    <>
      <Heading text={TEXTS.pages.unknown} />
      <State text={TEXTS.unknown.lead}>
        <a href={BASE}>{TEXTS.unknown.back}</a>
      </State>
    </>
  );
}
