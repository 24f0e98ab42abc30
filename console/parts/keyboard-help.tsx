/** The list of keys, as a dialog of the browser's own. */
import { useEffect, useRef } from 'preact/hooks';
import { isHelpOpen } from '../keys.ts';
import { TEXTS } from '../texts.ts';

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
      aria-labelledby="keyboard-title"
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <h2 id="keyboard-title">{TEXTS.keys.title}</h2>
      <dl class="keys">
        {TEXTS.keys.rows.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        {TEXTS.keys.close}
      </button>
    </dialog>
  );
}
