/** Asks before something is done: a dialog of the browser's own, which shows exactly what it will be done to. */
import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { TEXTS } from '../texts.ts';

/** Lines of the list that are drawn; how many more there are is said. */
const ITEMS_MAX = 10_000;

/** What is asked. */
export interface Question {
  readonly title: string;
  /** What will happen, in a sentence. */
  readonly text: string;
  /** Everything that it happens to, by name. */
  readonly items?: readonly string[];
  /** Has to be typed before it is done. */
  readonly name?: string;
  /** What the button says. */
  readonly action: string;
  readonly isDangerous?: boolean;
}

interface Asked extends Question {
  readonly id: number;
  readonly answer: (isConfirmed: boolean) => void;
}

const asked = signal<readonly Asked[]>([]);
let lastId = 0;

/** Whether somebody wants it. One question after the other; Esc and whatever closes the dialog say no. */
export function confirmed(question: Question): Promise<boolean> {
  return new Promise((answer) => {
    lastId += 1;
    asked.value = [...asked.value, { ...question, id: lastId, answer }];
  });
}

/** Where it is asked: once, in the frame. */
export function Confirmation() {
  const [first] = asked.value;
  useEffect(
    () => () => {
      // whoever was signed out confirms nothing
      for (const { answer } of asked.value) answer(false);
      asked.value = [];
    },
    [],
  );
  return first === undefined ? null : <Dialog key={first.id} question={first} />;
}

function Dialog({ question }: { readonly question: Asked }) {
  const { title, text, items, name, answer } = question;
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const isTyped = name === undefined || typed.value === name;
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    asked.value = asked.value.filter((one) => one !== question);
    answer(dialog.current?.returnValue === 'yes');
  };
  return (
    <dialog
      ref={dialog}
      class="confirm"
      aria-labelledby="confirm-title"
      aria-describedby="confirm-text"
      onClose={close}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          if (!isTyped && event.submitter?.getAttribute('value') === 'yes') event.preventDefault();
        }}
      >
        <h2 id="confirm-title">
          <bdi>{title}</bdi>
        </h2>
        <p id="confirm-text">
          <bdi>{text}</bdi>
        </p>
        {items !== undefined && <Items items={items} />}
        {name !== undefined && (
          <label>
            <span>
              {TEXTS.confirm.type} <code>{name}</code>
            </span>
            <input
              autofocus
              autocomplete="off"
              spellcheck={false}
              value={typed.value}
              onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
            />
          </label>
        )}
        <Answers question={question} isTyped={isTyped} />
      </form>
    </dialog>
  );
}

/** The first button is the one that Enter presses in the field; while the name is not there it does nothing. */
function Answers({ question, isTyped }: { readonly question: Question; readonly isTyped: boolean }) {
  const { name, action, isDangerous = false } = question;
  return (
    <div class="answers">
      <button
        value="yes"
        class={isDangerous ? 'primary danger' : 'primary'}
        aria-disabled={!isTyped}
        autofocus={name === undefined && !isDangerous}
      >
        {action}
      </button>
      <button value="no" autofocus={name === undefined && isDangerous}>
        {TEXTS.confirm.cancel}
      </button>
    </div>
  );
}

function Items({ items }: { readonly items: readonly string[] }) {
  return (
    <>
      <ul class="items" tabIndex={0} aria-label={TEXTS.confirm.items(items.length)}>
        {items.slice(0, ITEMS_MAX).map((item) => (
          <li key={item}>
            <bdi>{item}</bdi>
          </li>
        ))}
      </ul>
      {items.length > ITEMS_MAX && <p class="soft">{TEXTS.confirm.more(items.length - ITEMS_MAX)}</p>}
    </>
  );
}
