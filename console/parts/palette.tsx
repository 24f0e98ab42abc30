/** The place of the palette, which is loaded when it is first opened. */
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { isPaletteOpen } from '../keys.ts';
import { TEXTS } from '../texts.ts';
import { notify } from './notice.tsx';
import type { PaletteProps } from './palette-dialog.tsx';

/** Nothing, until somebody wants it. */
export function Palette(props: PaletteProps) {
  const dialog = useSignal<{ readonly draws: ComponentType<PaletteProps> } | null>(null);
  const isOpen = isPaletteOpen.value;
  useEffect(() => {
    if (!isOpen || dialog.value !== null) return;
    import('./palette-dialog.tsx').then(
      ({ PaletteDialog }) => (dialog.value = { draws: PaletteDialog }),
      () => {
        isPaletteOpen.value = false;
        notify({ text: TEXTS.states.notLoaded, kind: 'failed' });
      },
    );
  }, [isOpen]);
  if (!isOpen || dialog.value === null) return null;
  const Draws = dialog.value.draws;
  return <Draws {...props} />;
}
