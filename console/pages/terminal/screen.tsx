/** The screen of a terminal, what stands above it, and the files beside it. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Login } from '../../terminal/connection.ts';
import { Shell, type ShellState } from '../../terminal/shell.ts';
import { TERMINAL } from '../../texts/terminal.ts';
import { FilePanel } from './file-panel.tsx';

interface ScreenProps {
  readonly login: Omit<Login, 'size'>;
  readonly nodeName: string;
  /** Back to signing in. Null: because somebody wants to. */
  readonly refused: (why: string | null) => void;
  /** Stands below it. */
  readonly children?: ComponentChildren;
}

/** It, from signing in to the end. */
export function TerminalScreen({ login, nodeName, refused, children }: ScreenProps) {
  const place = useRef<HTMLDivElement>(null);
  const tools = useRef<HTMLDivElement>(null);
  const [shell, setShell] = useState<Shell | null>(null);
  const hasFiles = useSignal(false);
  const isReader = useSignal(false);
  useEffect(() => {
    if (place.current === null) return undefined;
    const made = new Shell(place.current, login, { refused, left: () => toFirst(tools.current) });
    setShell(made);
    return () => made.close();
  }, []);
  const back = (event: KeyboardEvent): void => {
    if (event.key !== 'F6' || event.defaultPrevented) return;
    event.preventDefault();
    shell?.focus();
  };
  const state = shell?.state.value ?? { kind: 'opening' as const, lost: null };
  return (
    <div class="terminal-with-files" onKeyDown={back}>
      <div class="terminal-bar">
        <p role="status">
          <bdi>{wordsOf(state, login.username)}</bdi>
          {shell?.isTypingIntoNothing.value === true && ` ${TERMINAL.dropping}`}
        </p>
        <div ref={tools} class="tools">
          <button
            type="button"
            aria-pressed={hasFiles.value}
            disabled={state.kind !== 'open'}
            onClick={() => (hasFiles.value = !hasFiles.value)}
          >
            {TERMINAL.files}
          </button>
          <button
            type="button"
            aria-pressed={isReader.value}
            onClick={() => {
              isReader.value = !isReader.value;
              shell?.readAloud(isReader.value);
            }}
          >
            {TERMINAL.reader}
          </button>
          <Again state={state} shell={shell} login={login} refused={refused} />
        </div>
      </div>
      {/* this and the files before the terminal, whatever stands where: no Tab leads on from there */}
      {children}
      <div class="terminal-and-files">
        {hasFiles.value && state.kind === 'open' && shell !== null && <FilePanel files={shell.files} />}
        <div ref={place} class="terminal-place" role="group" aria-label={`${TERMINAL.label}: ${nodeName}`} />
      </div>
      <p class="soft note">
        {TERMINAL.leave}
        {state.kind === 'open' && ` ${hostKeyWords(state)}`}
      </p>
    </div>
  );
}

/** The first that can be used: while no shell is there, which is when one wants another, there are no files. */
function toFirst(tools: HTMLElement | null): void {
  tools?.querySelector<HTMLElement>('button:enabled')?.focus();
}

function Again({
  state,
  shell,
  login,
  refused,
}: Omit<ScreenProps, 'nodeName' | 'children'> & { readonly state: ShellState; readonly shell: Shell | null }) {
  if (state.kind === 'open' || state.kind === 'opening')
    return (
      <button type="button" onClick={() => refused(null)}>
        {TERMINAL.end}
      </button>
    );
  return (
    <>
      {login.signIn.type === 'key' && (
        <button type="button" class="primary" onClick={() => shell?.open()}>
          {TERMINAL.again}
        </button>
      )}
      <button type="button" onClick={() => refused(null)}>
        {TERMINAL.other}
      </button>
    </>
  );
}

function wordsOf(state: ShellState, username: string): string {
  switch (state.kind) {
    case 'opening':
      return state.lost === null ? TERMINAL.opening : `${state.lost} ${TERMINAL.trying}`;
    case 'open':
      return `${TERMINAL.openAs(username)}${state.opened.is_recorded ? ` ${TERMINAL.recorded}` : ''}`;
    case 'ended':
      return state.text;
    case 'lost':
      return state.isTrying ? `${state.text} ${TERMINAL.trying}` : state.text;
    default:
      return state satisfies never;
  }
}

function hostKeyWords({ opened: { host_key: key } }: Extract<ShellState, { readonly kind: 'open' }>): string {
  return key.is_known ? TERMINAL.hostKnown : TERMINAL.hostUnknown(key.fingerprint);
}
