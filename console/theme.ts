/** Light or dark: as the system has it, until somebody chooses. The choice stays in this browser. */
import { signal } from '@preact/signals';

/** What may be chosen. */
export const THEMES = ['system', 'light', 'dark'] as const;
/** One of them. */
export type Theme = (typeof THEMES)[number];

const KEPT_AS = 'edge-console-theme';

/** What is chosen. */
export const theme = signal<Theme>('system');

/** Takes up what was chosen before. */
export function startTheme(): void {
  const kept = read();
  choose(THEMES.find((one) => one === kept) ?? 'system');
}

/** Shows the pages so from now on. */
export function choose(chosen: Theme): void {
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
  theme.value = chosen; // after the page has its colours: whoever hears of it draws with them
  try {
    localStorage.setItem(KEPT_AS, chosen);
  } catch {
    // a browser that keeps nothing: it is asked again the next time
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null;
  }
}
