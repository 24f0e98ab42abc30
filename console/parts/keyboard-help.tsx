/** The list of keys, as a dialog of the browser's own. */
import { useEffect, useRef } from 'preact/hooks';
import { isHelpOpen } from '../keys.ts';
import { OWN_PAGES, placeOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';

/** The pairs that lead to pages, as the places have them. */
const JUMPS = OWN_PAGES.flatMap((page) => {
  const { jump } = placeOf(page);
  return jump === undefined ? [] : [[`g ${jump}`, TEXTS.pages[page]] as const];
});

/** Opens by `?`, closes by Esc, its button, or a click beside it. */
export function KeyboardHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class="keyboard"
      aria-labelledby="keyboard-title"
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <h2 id="keyboard-title">{TEXTS.keys.title}</h2>
      <div class="columns">
        <KeyList title={TEXTS.keys.everywhere} rows={TEXTS.keys.rows} />
        <KeyList title={TEXTS.keys.jumps} rows={JUMPS} />
      </div>
      <button type="button" onClick={close}>
        {TEXTS.keys.close}
      </button>
    </dialog>
  );
}

interface KeyListProps {
  readonly title: string;
  readonly rows: readonly (readonly [keys: string, what: string])[];
}

function KeyList({ title, rows }: KeyListProps) {
  return (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {rows.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(', ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
