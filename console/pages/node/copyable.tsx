/** Lines of a terminal with a button that copies them. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { NODE } from '../../texts/node.ts';

/** How long a button says that it copied, in ms. */
const TOLD_MS = 2_000;

const T = NODE.reach;

/** `name` is said of it beside, and with its button. */
export function Copyable({ name, text }: { readonly name: string; readonly text: string }) {
  const isCopied = useSignal(false);
  useEffect(() => {
    if (!isCopied.value) return undefined;
    const timer = setTimeout(() => (isCopied.value = false), TOLD_MS);
    return () => clearTimeout(timer);
  }, [isCopied.value]);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
  };
  return (
    <div class="copyable">
      <dt>{name}</dt>
      <dd>
        <pre tabIndex={0} aria-label={name}>
          <code>{text}</code>
        </pre>
        {/* over plain HTTP browsers have no clipboard for pages */}
        {'clipboard' in navigator && (
          <button type="button" aria-label={T.copyOf(name)} onClick={() => void copy()}>
            {isCopied.value ? T.copied : T.copy}
          </button>
        )}
      </dd>
    </div>
  );
}
