/** The heading of a page: it has the focus when the page is new, so that everybody hears where they are. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { TEXTS } from '../texts.ts';

/** Whether a page was shown before: the first one leaves the focus where browsers put it. */
let isFirst = true;

/** `text` is also the title of the window. */
export function Heading({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · ${TEXTS.product}`;
    if (!isFirst) heading.current?.focus({ preventScroll: true });
    isFirst = false;
  }, [text]);
  return (
    <div class="heading">
      <h1 ref={heading} tabIndex={-1}>
        {text}
      </h1>
      {children}
    </div>
  );
}
