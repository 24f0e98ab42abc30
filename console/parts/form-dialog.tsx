/**
 * Asks for what is to be created or changed: a dialog of the browser's own, which says what was refused at its fields.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { problemsOf } from '../failure.ts';
import { TEXTS } from '../texts.ts';
import { notify } from './notice.tsx';
import { useIsThere } from './there.ts';

const T = TEXTS.form;

/** What is asked. */
export interface FormDialogProps {
  readonly title: string;
  /** What the button says. */
  readonly action: string;
  /**
   * Does it with the text of each field, without spaces at its ends but for passwords, which are what they are. What it
   * throws is said, and the dialog stays; where it was closed meanwhile, in a notice.
   */
  readonly send: (valueOf: (name: string) => string) => Promise<void>;
  /** It was closed, done or not. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Open as long as it is there. Its first field has the focus; Esc closes it. */
export function FormDialog({ title, action, send, onClose, children }: FormDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isThere = useIsThere();
  const isSending = useSignal(false);
  const problems = useSignal<readonly string[]>([]);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    if (isSending.value) return;
    isSending.value = true;
    const given = new FormData(form);
    try {
      await send((name) => {
        const value = given.get(name);
        if (typeof value !== 'string') return '';
        return form.querySelector(`[type=password][name="${name}"]`) === null ? value.trim() : value;
      });
      dialog.current?.close();
    } catch (error) {
      const found = problemsOf(error);
      if (isThere.current) problems.value = found;
      else if (found.join('') !== '') notify({ text: found.join('; '), kind: 'failed' });
    } finally {
      isSending.value = false;
    }
  };
  return (
    <dialog ref={dialog} class="form" aria-labelledby="form-title" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <h2 id="form-title">{title}</h2>
        {children}
        <div role="alert">
          {problems.value.map((problem) => (
            <p key={problem} class="problem">
              <bdi>{problem}</bdi>
            </p>
          ))}
        </div>
        <div class="answers">
          <button type="submit" class="primary" aria-disabled={isSending.value}>
            {isSending.value ? T.sending : action}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            {T.cancel}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** A field under its name, with a hint below it. */
export function Field({
  label,
  hint,
  children,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <small class="soft">{hint}</small>}
    </label>
  );
}
