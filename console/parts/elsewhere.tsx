/** What a page shows or does, for a terminal: as a command and as a request. */
import type { ComponentChildren } from 'preact';
import { TEXTS } from '../texts.ts';
import { notify } from './notice.tsx';

const T = TEXTS.elsewhere;

/** Both lines, each with a button that copies it. `children`: what a terminal does otherwise. */
export function Elsewhere({
  cli,
  curl,
  children,
}: {
  readonly cli: string;
  readonly curl: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <details class="elsewhere">
      <summary>{T.title}</summary>
      <CopyLine label={T.cli} text={cli} />
      <CopyLine label={T.curl} text={curl} />
      {children}
    </details>
  );
}

/** One line that is copied by its button, under a label. */
export function CopyLine({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div class="copy-line">
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <button type="button" aria-label={T.copyOf(label)} onClick={() => void copied(text)}>
        {T.copy}
      </button>
    </div>
  );
}

/** Puts a text where it can be pasted, and says whether that worked. */
export async function copied(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify({ text: T.copied });
  } catch {
    // over plain HTTP off this machine there is no clipboard
    notify({ text: T.notCopied, kind: 'failed' });
  }
}
