/**
 * The one script of the guide pages: it gives each box of commands a button that copies them. Without it the pages have
 * all that they have with it, and no button. It stands in the page, and the policy of the page names it by its digest:
 * nothing else runs there.
 */
import { createHash } from 'node:crypto';

/**
 * What is pasted is what a shell takes: no comments, which an interactive zsh does not know, and no newline at the end.
 */
const COPY = `for (const button of document.querySelectorAll('button.copy')) {
  const code = button.closest('figure').querySelector('code');
  const said = document.querySelector('.said');
  let timer;
  const tell = (word, sentence) => {
    button.textContent = word;
    said.textContent = sentence;
    clearTimeout(timer);
    timer = setTimeout(() => { button.textContent = 'Copy'; said.textContent = ''; }, 2000);
  };
  button.hidden = false;
  button.addEventListener('click', async () => {
    const text = [...code.childNodes].filter((node) => node.className !== 'comment').map((node) => node.textContent).join('').replace(/[ \\t]+$/gm, '').trim();
    try {
      await copy(text);
      tell('Copied', 'Copied');
    } catch {
      getSelection().selectAllChildren(code);
      tell('Selected', 'Selected: copy it with Ctrl+C');
    }
  });
}
async function copy(text) {
  // the clipboard is there for pages that came by TLS or from this machine
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const focused = document.activeElement;
  const area = document.body.appendChild(document.createElement('textarea'));
  area.value = text;
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  focused.focus();
  if (!isCopied) throw new Error('not copied');
}`;

/** Its markup, for the end of a page. */
export const COPY_SCRIPT = `<p class="said" role="status"></p>\n<script>${COPY}</script>`;

/** The source that lets it run, for a Content-Security-Policy. */
export const COPY_SOURCE = `'sha256-${createHash('sha256').update(COPY).digest('base64')}'`;

/** The button of a box. `what` is what it copies, in a line. It shows itself where the script runs. */
export function copyButton(what: string): string {
  return `<button type="button" class="copy" hidden aria-label="Copy ${what}">Copy</button>`;
}
