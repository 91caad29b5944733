/*
 * Whatever picture is chosen becomes what games want of an icon: 64 × 64 pixels, in the middle of which it is as large as may be.
 */
const PIXELS = 64;
const input = document.querySelector('[data-icon]');

input.accept = 'image/*';
input.addEventListener('change', () => void scale());

async function scale() {
  const [file] = input.files;
  // What cannot be read as a picture is sent as it is, and refused with a sentence.
  const picture = file && (await createImageBitmap(file).catch(() => undefined));
  if (!picture || (file.type === 'image/png' && picture.width === PIXELS && picture.height === PIXELS)) return;
  const canvas = new OffscreenCanvas(PIXELS, PIXELS);
  const [width, height] = [picture.width, picture.height].map(
    (side) => (side * PIXELS) / Math.max(picture.width, picture.height),
  );
  const drawing = canvas.getContext('2d');
  drawing.imageSmoothingQuality = 'high';
  drawing.drawImage(picture, (PIXELS - width) / 2, (PIXELS - height) / 2, width, height);
  const png = await canvas.convertToBlob({ type: 'image/png' });
  if (input.files[0] !== file) return;
  const chosen = new DataTransfer();
  chosen.items.add(new File([png], 'server-icon.png', { type: 'image/png' }));
  input.files = chosen.files;
}
