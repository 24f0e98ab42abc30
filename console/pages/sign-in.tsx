/** Where somebody shows a key, once. The page keeps nothing of it: the field is empty as soon as it was sent. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { TransportBar } from '../parts/bars.tsx';
import { signIn } from '../session.ts';
import { TEXTS } from '../texts.ts';

/** `why`: why somebody who was signed in is here; null: nobody was. */
export function SignInPage({ why }: { readonly why: string | null }) {
  const problem = useSignal<string | null>(null);
  const isChecking = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${TEXTS.pages.signIn} · ${TEXTS.product}`;
    field.current?.focus();
  }, []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const input = field.current;
    if (input === null || isChecking.value) return;
    const key = input.value.trim();
    input.value = '';
    if (key === '') problem.value = TEXTS.signIn.empty;
    else {
      isChecking.value = true;
      problem.value = await signIn(key);
      isChecking.value = false;
    }
    if (problem.value !== null) input.focus();
  };

  return (
    <>
      <TransportBar />
      <main class="sign-in" id="content">
        <h1>{TEXTS.pages.signIn}</h1>
        <p class="lead">{TEXTS.signIn.lead}</p>
        {why !== null && problem.value === null && (
          <p class="note" role="status">
            {why}
          </p>
        )}
        <form onSubmit={(event) => void submit(event)}>
          <label for="key">{TEXTS.signIn.key}</label>
          <input
            ref={field}
            id="key"
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            maxLength={512}
            aria-invalid={problem.value !== null}
            aria-describedby="key-problem"
          />
          <p id="key-problem" class="problem" role="alert">
            {problem.value}
          </p>
          <button type="submit" class="primary" aria-disabled={isChecking.value}>
            {isChecking.value ? TEXTS.signIn.checking : TEXTS.signIn.submit}
          </button>
        </form>
        <p class="soft">{TEXTS.signIn.where}</p>
      </main>
    </>
  );
}
