/** The line that makes a machine a node, with its QR code. The key lives in this dialog alone. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { installLine } from '../lists/install-line.ts';
import type { Live } from '../live.ts';
import { CopyLine } from '../parts/elsewhere.tsx';
import { Qr } from '../parts/qr.tsx';
import { TEXTS } from '../texts.ts';
import { ENROLLMENT_KEYS } from '../texts/enrollment-keys.ts';

const { made: MADE } = ENROLLMENT_KEYS;

interface InstallDialogProps {
  readonly live: Live;
  /** The key. */
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows it. */
export function InstallDialog({ live, secret, onClose }: InstallDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const hasRelease = useSignal(true);
  const { line, url } = installLine(secret, location.origin);
  useEffect(() => {
    dialog.current?.showModal();
    // where that is not known, the line says it on the machine
    void live.api.get_releases
      .query({})
      .then(({ channels }) => (hasRelease.value = channels.length > 0))
      .catch(() => undefined);
  }, []);
  return (
    <dialog ref={dialog} class="form made" aria-labelledby="made-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="made-title">{MADE.title}</h2>
        <p class="soft">{MADE.lead}</p>
        <CopyLine label={MADE.line} text={line} />
        {!hasRelease.value && <p class="note">{MADE.noRelease}</p>}
        {url.startsWith('http:') && <p class="note">{MADE.plain}</p>}
        <Qr text={line} label={MADE.qr} />
        <details>
          <summary>{MADE.key}</summary>
          <CopyLine label={MADE.key} text={secret} />
        </details>
        <div class="answers">
          <button class="primary" autofocus>
            {TEXTS.form.done}
          </button>
        </div>
      </form>
    </dialog>
  );
}
