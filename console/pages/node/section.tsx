/** A part of the page, under its heading. */
import type { ComponentChildren } from 'preact';

/** `beside`: what stands in the line of its heading. */
export function Section({
  id,
  title,
  beside,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={id}>
      <div class="top">
        <h2 id={id}>{title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}
