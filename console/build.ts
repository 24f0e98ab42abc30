/** Whether the admin serves another console than the one of this page, as after its upgrade. */
import { signal } from '@preact/signals';

/** Where the page is that names the files of the console that is served. */
const PAGE_PATH = '/console';

/** It does: what this page loads later may be gone, and what it says may not be understood. */
export const isOutdated = signal(false);

/** Looks whether the page that is served still names the script of this one. What cannot be asked stays as it is. */
export async function lookAtBuild(): Promise<void> {
  const own = document.querySelector<HTMLScriptElement>('script[type=module]')?.src;
  if (own === undefined) return;
  try {
    const answer = await fetch(PAGE_PATH, { headers: { accept: 'text/html' } });
    if (answer.ok) isOutdated.value = !(await answer.text()).includes(new URL(own).pathname);
  } catch {
    // the admin is away again: the next connection looks
  }
}
