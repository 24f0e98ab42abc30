/** The whole of the console: who is signed in decides what there is, the address which page. */
import { useEffect, useMemo } from 'preact/hooks';
import { Fleet } from './fleet/feed.ts';
import { connect } from './live.ts';
import { stopBulk } from './pages/nodes/bulk.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { UnknownPage } from './pages/unknown.tsx';
import { TransportBar } from './parts/bars.tsx';
import { Page } from './parts/page.tsx';
import { Shell } from './parts/shell.tsx';
import { State } from './parts/state.tsx';
import { route } from './router.ts';
import { Submissions } from './run/submission.ts';
import { askWho, signedIn, type Me } from './session.ts';
import { TEXTS } from './texts.ts';

/** What stands in the body of the page. */
export function App() {
  const now = signedIn.value;
  switch (now.kind) {
    case 'asking':
      return (
        <main>
          <State kind="loading" text={TEXTS.states.loading} />
        </main>
      );
    case 'unreached':
      return <Unreached why={now.why} />;
    case 'out':
      return <SignInPage why={now.why} />;
    case 'in':
      return <Signed key={now.me.principal} me={now.me} />;
    default:
      return now satisfies never;
  }
}

/** It is asked again by itself. */
function Unreached({ why }: { readonly why: 'away' | 'throttled' }) {
  return (
    <>
      <TransportBar />
      <main class="sign-in" id="content">
        <State kind="failed" text={TEXTS.signIn[why]}>
          <button type="button" onClick={() => void askWho(true)}>
            {TEXTS.states.again}
          </button>
        </State>
      </main>
    </>
  );
}

/** One connection for as long as the same one is signed in. */
function Signed({ me }: { readonly me: Me }) {
  const live = useMemo(connect, []);
  const fleet = useMemo(() => new Fleet(live.api), [live]);
  const submissions = useMemo(() => new Submissions(), []);
  useEffect(
    () => () => {
      stopBulk();
      fleet.stop();
      live.close();
    },
    [live, fleet],
  );
  const { page, id, search } = route.value;
  const props = { live, fleet, submissions, me, id: id ?? '', search };
  return (
    <Shell me={me} live={live} fleet={fleet}>
      {page === 'unknown' ? <UnknownPage /> : <Page key={`${page} ${id}`} name={page} {...props} />}
    </Shell>
  );
}
