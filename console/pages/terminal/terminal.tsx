/** The terminal of a node: signing in, the screen, and files beside it. */
import { useSignal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { Heading } from '../../parts/heading.tsx';
import { State } from '../../parts/state.tsx';
import type { PageProps } from '../../page-props.ts';
import { addressOf } from '../../routes.ts';
import type { Login } from '../../terminal/connection.ts';
import { TEXTS } from '../../texts.ts';
import { TERMINAL } from '../../texts/terminal.ts';
import { useNode } from '../node/watched.ts';
import { SameElsewhere } from './same-elsewhere.tsx';
import { TerminalScreen } from './screen.tsx';
import { SignInForm } from './sign-in-form.tsx';

/** The page. */
export function TerminalPage(props: PageProps) {
  const watched = useNode(props, props.id).value;
  if (watched.kind === 'there' || watched.kind === 'deleted') return <Shown node={watched.node} live={props.live} />;
  const text =
    watched.kind === 'loading'
      ? TEXTS.states.loading
      : watched.kind === 'failed'
        ? `${TEXTS.states.failed} ${watched.message}`
        : TERMINAL.missing;
  return (
    <>
      <Heading text={TEXTS.pages.terminal} />
      <State kind={watched.kind === 'missing' ? 'empty' : watched.kind} text={text} />
    </>
  );
}

function Shown({ node, live }: { readonly node: NodeResource } & Pick<PageProps, 'live'>) {
  const login = useSignal<Omit<Login, 'size'> | null>(null);
  const problem = useSignal<string | null>(null);
  const refused = (why: string | null): void => {
    problem.value = why === null ? null : TERMINAL.refused(why);
    login.value = null;
  };
  return (
    <div class="node-terminal">
      <Heading text={TERMINAL.of(node.name)}>
        <p>
          <a href={addressOf('node', { id: node.id })}>{TERMINAL.back}</a>
        </p>
      </Heading>
      {login.value === null ? (
        <SignInForm
          node={node}
          live={live}
          problem={problem.value}
          signIn={(given) => {
            problem.value = null;
            login.value = given;
          }}
        />
      ) : (
        <TerminalScreen login={login.value} nodeName={node.name} refused={refused}>
          <SameElsewhere node={node} user={login.value.username} />
        </TerminalScreen>
      )}
    </div>
  );
}
